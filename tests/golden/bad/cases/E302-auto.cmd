spnc train --auto cases/rows.csf --out run
