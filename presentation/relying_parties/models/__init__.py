"""What is kept of relying parties."""
