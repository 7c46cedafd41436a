spnc compile specs/E206-in-a-circuit.yaml
