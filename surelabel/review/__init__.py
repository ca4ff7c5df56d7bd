"""The review page: a person answers, the model follows."""
