# A few seconds of it: that it runs, and that nothing grows.
file(MAKE_DIRECTORY "${OUT}")
execute_process(COMMAND "${BIN}/etc-fault-plans" "${OUT}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${BIN}/etc-soak" 4 "${OUT}/ring.etcplan" "${OUT}/stages.etcplan" COMMAND_ERROR_IS_FATAL ANY)
