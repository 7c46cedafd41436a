spnc explain E999
