spnc report nowhere
