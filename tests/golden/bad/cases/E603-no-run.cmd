spnc report shared
