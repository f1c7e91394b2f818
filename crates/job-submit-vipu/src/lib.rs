//! job_submit_vipu.so: checks and completes a request at submit.
