spnc export shared/wide.spn -o wide.svg
