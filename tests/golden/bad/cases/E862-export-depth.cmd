spnc export shared/wide.spn -o wide.dot --depth 1
