spnc data fetch nltcs
