//===- SummaryWords.cpp - What the lines of a summary mean ----------------===//

#include "etc/Export/SummaryWords.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"

using namespace etc;
using llvm::StringRef;

static constexpr SummaryWord table[] = {
    {"moves", "What devices receive from others, of everything that the "
              "current configuration holds. \"Between nodes\" is the part that "
              "crosses NICs; the rest uses the links inside nodes."},
    {"keeps",
     "What stays on its device and is bound to the new role without "
     "being sent. \"Derives\" is what is cast from another type where "
     "that one lands, instead of being moved (nothing, where a side is an "
     "inventory); \"zeroes\" is padding of the vocabulary that is new."},
    {"bound", "What the certificates prove: whatever roles devices take, a "
              "plan moves at least the first number of bytes, and at least the "
              "second between nodes. \"Tied copies apart\", \"without relays\" "
              "and \"without recomputation\" name plans that the bound does "
              "not cover: the first, those in which one of several equal "
              "tensors is received for all."},
    {"paper", "What the paper's method would move for the same request, and "
              "what its busiest device would receive."},
    {"busiest", "The most that one device sends, and the most that one "
                "receives: these transfers take at least as long as that port "
                "needs for its bytes."},
    {"time", "How long the transfers take on the cluster named: as the "
             "simulator predicts, and what the busiest link or NIC needs for "
             "its bytes. Very many messages take long to simulate; the time is "
             "then estimated, and can be a tenth off. etc-run --dry-run "
             "simulates it."},
    {"least", "The time that no sources, relays or rounds go below for the "
              "roles of this plan, and why: bytes that have to cross the "
              "border of some devices, and what can carry them."},
    {"roles", "The time that nothing is below, whichever roles the request "
              "lets devices take, and why; and how far the busiest link or NIC "
              "of this plan is above it. Left out where the request fixes "
              "roles, where it has an inventory, where ranks are planned as "
              "groups, where nothing moves, and where the proof would take "
              "long."},
    {"pause",
     "Where state is deferred: how long training stops, for the rounds "
     "with parameters; and the time that no sources, relays or rounds "
     "go below for these. \"Time\" is of all rounds."},
    {"relays", "What devices pass on after they have received it. What they "
               "keep themselves is a part of \"moves\"; see \"transit\"."},
    {"transit", "What goes through devices that neither need nor keep it, "
                "because their links and NICs are free. \"moves\" does not "
                "count it."},
    {"memory", "The most bytes of state and staging that a device holds at "
               "once. The ratio is the worst over all devices, of that peak "
               "over the larger of the device's two states. In safe mode the "
               "previous state stays whole until the commit."},
    {"tail", "Where state is deferred: the most bytes that a device holds at "
             "once in the rounds after the pause, with the gradients of its "
             "parameters."},
    {"rounds", "The global steps in which the plan moves, the programs that "
               "describe it (devices that do the same share one), and the "
               "devices that take part."},
    {"price", "What the placement asked for costs beside roles on any device: "
              "tensor-parallel groups that stay inside nodes may have to move "
              "more."},
    {"trainer", "What no plan moves, and a trainer sets for itself: scalars "
                "that all ranks share, random number generators of roles that "
                "did not exist, and state that is recomputed from state that "
                "moves."},
    {"in all", "The sum over the plans, where two stages, or the requests of "
               "a chain, are planned one by one."},
};

llvm::ArrayRef<SummaryWord> etc::summaryWords() { return table; }

/// The words of `text` in lines of at most `width` characters.
static llvm::SmallVector<std::string> wrap(StringRef text, size_t width) {
  llvm::SmallVector<std::string> lines;
  llvm::SmallVector<StringRef> words;
  text.split(words, ' ');
  for (StringRef word : words)
    if (lines.empty() || lines.back().size() + 1 + word.size() > width)
      lines.push_back(word.str());
    else
      lines.back() += " " + word.str();
  return lines;
}

void etc::writeSummaryWords(llvm::raw_ostream &os) {
  constexpr unsigned indent = 11, width = 88;
  for (const SummaryWord &row : table) {
    os << "  " << llvm::left_justify(row.word, indent - 2);
    llvm::interleave(wrap(row.meaning, width - indent), os,
                     ("\n" + std::string(indent, ' ')));
    os << "\n";
  }
}
