//! Asks nodes which jobs run there.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};

use vipu_types::Words;

use crate::record::{c_string, list_items, text_of_c};
use crate::slurmctld::{host, host_functions};
use crate::symbols::wanted;

/// `REQUEST_DAEMON_STATUS` and `RESPONSE_SLURMD_STATUS`, the messages of `scontrol show slurmd`: the same in every
/// release.
const REQUEST: u16 = 5024;
const RESPONSE: u16 = 5025;

/// `SLURM_AUTH_UID_ANY`: slurmd may run as any user.
const ANY_USER: u32 = u32::MAX;

/// Room for a `slurm_msg_t`, which has 440 bytes at most.
const MESSAGE: usize = 1024;

host_functions! {
    /// The functions that send a message to nodes.
    Calls {
        init = c"slurm_msg_t_init": fn(*mut c_void);
        set_reader = c"slurm_msg_set_r_uid": fn(*mut c_void, u32);
        send = c"slurm_send_recv_msgs": fn(*const c_char, *mut c_void, c_int) -> *mut c_void;
        free_status = c"slurm_free_slurmd_status": fn(*mut c_void);
    }
}

/// `ret_data_info_t`: an answer. The same in every release.
#[repr(C)]
struct Answer {
    kind: u16,
    error: u32,
    node: *const c_char,
    data: *mut Status,
}

/// The first members of `slurmd_status_t`. The same in every release.
#[repr(C)]
struct Status {
    times: [i64; 2],
    numbers: [u16; 6],
    memory: u64,
    more_numbers: [u32; 2],
    names: [*const c_char; 2],
    steps: *const c_char,
}

/// Asks these nodes for the jobs of which they have processes, and returns the ids of the jobs for each node that
/// answers. Waits up to some multiples of MessageTimeout: no lock may be held. `protocol` is the oldest
/// `protocol_version` of the nodes.
///
/// A node that is about to run a job's prolog does not name the job yet.
///
/// # Errors
/// Outside slurmctld, or in a release without what this needs.
pub fn on(nodes: &[String], protocol: u16) -> Result<BTreeMap<String, Vec<u32>>, Words> {
    let host = host()?;
    let layout = host.layout.slurm_msg.as_ref().ok_or("this Slurm's messages were not measured")?;
    let calls = Calls::resolve()?;
    let mut memory = [0_u64; MESSAGE / size_of::<u64>()];
    let message = memory.as_mut_ptr();
    let names = c_string(&nodes.join(","));
    // SAFETY: no lock needed. The memory has room for a slurm_msg_t, which init fills and which has both members
    // inside. send copies nothing of it beyond the call, and returns NULL or a list that is the caller's.
    let answers = unsafe {
        (calls.init)(message.cast());
        (calls.set_reader)(message.cast(), ANY_USER);
        message.byte_add(layout.msg_type.offset()).cast::<u16>().write(REQUEST);
        message.byte_add(layout.protocol_version.offset()).cast::<u16>().write(protocol);
        (calls.send)(names.as_ptr(), message.cast(), 0)
    };
    // SAFETY: NULL or a list of ret_data_info_t that only this thread has.
    let items = unsafe { list_items(host.slurmctld.call.list_for_each, answers) };
    let running = |answer: &mut Answer| {
        if answer.kind != RESPONSE || answer.data.is_null() {
            return None;
        }
        // SAFETY: no lock needed; a slurmd_status_t of this answer, whose texts are NULL or NUL-terminated.
        let (node, steps) = unsafe { (text_of_c(answer.node), text_of_c((*answer.data).steps)) };
        // The destructor of the list does not know this kind, and leaves out NULL.
        let status = std::mem::replace(&mut answer.data, std::ptr::null_mut());
        // SAFETY: Slurm's own memory of this kind, which nobody else has.
        unsafe { (calls.free_status)(status.cast()) };
        Some((node?, jobs_of(&steps?)))
    };
    // SAFETY: items of that list, which lives until it is destroyed below.
    let answered =
        items.iter().flatten().filter_map(|item| running(unsafe { item.cast().as_mut() })).collect();
    if !answers.is_null() {
        // SAFETY: the list from above, with a destructor for its items.
        unsafe { (host.slurmctld.call.list_destroy)(answers) };
    }
    Ok(answered)
}

/// The jobs of a list of steps, for example `42, 43.0, 43.extern`; `NONE` if there is none.
fn jobs_of(steps: &str) -> Vec<u32> {
    let job = |step: &str| step.trim().split(['.', '+']).next().and_then(|job| job.parse().ok());
    steps.split(',').filter_map(job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_read_from_the_steps_of_a_node() {
        assert_eq!(jobs_of("NONE"), []);
        assert_eq!(jobs_of("42, 43.0, 43.extern, 44.interactive, 45.2+1"), [42, 43, 43, 44, 45]);
    }
}
