"""The interfaces for programs (doors): what they offer by name, the operator's options, and the tools over stdio."""
