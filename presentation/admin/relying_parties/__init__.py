"""The admin of relying parties."""
