//! `SelectTypeParameters` knows the word `other_cons_tres` up to 23.11; later it is an error of slurm.conf.

use slurm_release::Series;

use crate::conf;
use crate::running_release::loaded;

const CR_OTHER_CONS_TRES: u16 = 0x0800;

/// Whether slurm.conf names select/cons_tres as the selector underneath.
pub fn is_set() -> bool {
    let is_a_word = loaded().is_ok_and(|loaded| loaded.release.version.series() <= Series::new(23, 11));
    is_a_word && conf::select_type_param().is_some_and(|bits| bits & CR_OTHER_CONS_TRES != 0)
}
