"""The published spam-classifier network: seven dense layers."""
