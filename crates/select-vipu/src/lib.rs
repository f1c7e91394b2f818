//! select_vipu.so: layered over the stock selector.
