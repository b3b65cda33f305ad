"""The models of relying parties."""
