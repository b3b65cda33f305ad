"""What operators are told: one table of facts and limits, for the doctor, its e-mails and Prometheus."""
