spnc format shared/commented.spn --to json
