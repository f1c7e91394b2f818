//! spank_ipuof.so: gives every task its IPUoF environment.
