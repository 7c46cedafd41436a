spnc data fetch nltc debd:plant
