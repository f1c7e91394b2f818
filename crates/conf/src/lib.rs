//! vipu.conf and the model files: parsing, defaults, errors with file, line and caret.
#![forbid(unsafe_code)]
