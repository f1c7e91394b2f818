//! Settings of a model, for tests to which they do not matter.

use std::path::Path;
use std::time::Duration;

use driver::ModelSettings;
use vipu_types::IpuCount;

pub fn settings() -> ModelSettings {
    ModelSettings {
        create_timeout: Duration::from_secs(300),
        max_retries: 10,
        reconcile_interval: Duration::from_secs(30),
        remove_unknown: false,
        domain_size: IpuCount::new(64).unwrap(),
        pool: None,
        hosts: None,
        shared: None,
        force_remove: false,
        reconfigurable: false,
        allocation: None,
        cluster: None,
        allocation_agents: Vec::new(),
        max_concurrent_creates: 64,
        ipuof_dir: Some(Path::new("/ipuof").into()),
    }
}
