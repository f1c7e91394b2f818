//! `plugin_id`: a number of our own up to 24.11, the stock selector's from 25.05 on.
//!
//! Up to 24.11 every process that loads selectors loads all `select_*.so` of PluginDir, and ends if two have
//! the same id. From 25.05 on it loads only one. Slurm then takes the cluster for one of select/cons_tres
//! exactly if the id is 109.

use slurm_release::Series;

use crate::running_release::RunningSlurm;
use crate::stock_selector::Selector;

/// An id that no stock selector uses, at least 100, and small enough for slurmdbd, which keeps 16 bits.
const OWN: u32 = 22096;

/// Returns the id to export.
///
/// # Errors
/// One line, when the stock selector has no id.
pub fn choose(loaded: &RunningSlurm, inner: &Selector) -> Result<u32, String> {
    if loaded.release.version.series() < Series::new(25, 5) {
        return Ok(OWN);
    }
    let id = inner.symbol(c"plugin_id").ok_or("the stock selector has no plugin_id")?;
    // SAFETY: no lock needed; every select plugin exports plugin_id as a uint32 that does not change.
    Ok(unsafe { id.cast::<u32>().read() })
}
