// etc-run: executes a migration plan.

#include "Hooks.h"

int main(int argc, char **argv) { return etc::run::runMain(argc, argv, {}); }
