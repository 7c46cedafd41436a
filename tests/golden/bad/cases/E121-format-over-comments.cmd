spnc format shared/commented.spn -o shared/commented.spn
