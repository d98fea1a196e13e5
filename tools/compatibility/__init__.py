"""The compatibility page: what each release of the SDK keeps of the contract, and who fixed it."""
