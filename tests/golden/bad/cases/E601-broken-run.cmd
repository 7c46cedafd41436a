spnc plot history shared/broken-run
