//! `plugin_id`: a number of our own up to 24.11, the stock selector's from 25.05 on.
//!
//! Up to 24.11 every process that loads selectors loads all `select_*.so` of PluginDir, and ends if two have
//! the same id. From 25.05 on it loads only one. Slurm then takes the cluster for one of select/cons_tres
//! exactly if the id is 109.
//!
//! Up to 24.11 the id also stands before the selector's data in each saved job. A slurmctld that does not know the id
//! of a saved job does not start. The plugin therefore saves the stock selector's id, whose data these are: slurmctld
//! can then read its jobs without the plugin, too. Messages keep our own id, because slurmd of 22.05 knows no other.

use std::ffi::c_void;
use std::sync::OnceLock;

use slurm_release::Series;
use vipu_types::Words;

use crate::running_release::RunningSlurm;
use crate::stock_selector::Selector;

/// An id that no stock selector uses, at least 100, and small enough for slurmdbd, which keeps 16 bits.
const OWN: u32 = 22096;

/// The id of the stock selector, where it differs from the exported one.
static STOCK: OnceLock<u32> = OnceLock::new();

/// The beginning of the file of saved jobs: a text behind its length. No message begins so.
const SAVED_JOBS: &[u8] = b"\0\0\0\x11PROTOCOL_VERSION\0";

/// The magic number of Slurm's buffers.
const BUF_MAGIC: u32 = 0x4255_4545;

/// The first members of Slurm's `buf_t`, alike in all releases up to 24.11.
#[repr(C)]
struct Buffer {
    magic: u32,
    head: *mut u8,
    size: u32,
    /// The number of bytes that are packed.
    processed: u32,
}

/// Returns the id to export.
///
/// # Errors
/// If the stock selector has no id.
pub fn choose(loaded: &RunningSlurm, inner: &Selector) -> Result<u32, Words> {
    let id = inner.symbol(c"plugin_id").ok_or("the stock selector has no plugin_id")?;
    // SAFETY: no lock needed; every select plugin exports plugin_id as a uint32 that does not change.
    let id = unsafe { id.cast::<u32>().read() };
    if loaded.release.version.series() < Series::new(25, 5) {
        STOCK.get_or_init(|| id);
        return Ok(OWN);
    }
    Ok(id)
}

/// Replaces our id, which Slurm has just packed for a job that it saves, by that of the stock selector.
///
/// # Safety
/// `buffer` is the `buf_t` of the running `select_p_select_jobinfo_pack`, or NULL.
pub unsafe fn save_stock_id(buffer: *mut c_void) {
    let Some(stock) = STOCK.get() else { return };
    // SAFETY: no lock needed; Slurm's own buffer, which no other thread uses during the call.
    let Some(buffer) = (unsafe { buffer.cast::<Buffer>().as_ref() }) else { return };
    if buffer.magic != BUF_MAGIC || buffer.head.is_null() || buffer.processed > buffer.size {
        return;
    }
    let Ok(packed) = usize::try_from(buffer.processed) else { return };
    // SAFETY: no lock needed; the packed bytes of the buffer, which has at least so many.
    let packed = unsafe { std::slice::from_raw_parts_mut(buffer.head, packed) };
    if !packed.starts_with(SAVED_JOBS) {
        return;
    }
    if let Some(id) = packed.last_chunk_mut().filter(|id| **id == OWN.to_be_bytes()) {
        *id = stock.to_be_bytes();
    }
}
