spnc report shared/changed-run
