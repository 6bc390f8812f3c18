"""Questions asked of live models, several ways, with every session kept."""
