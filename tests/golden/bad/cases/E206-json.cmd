spnc check circuits/E206-weights.spn --json
