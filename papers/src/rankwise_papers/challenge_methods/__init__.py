"""All methods of the report on the Yahoo! challenge, and the ensemble of 20 models of them."""
