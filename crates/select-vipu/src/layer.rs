//! Which stock selector to use.

use slurm_host::stock_selector;
use vipu_conf::Layer;

/// What slurm.conf and vipu.conf say.
pub(crate) fn choose() -> Layer {
    stock_selector::layer(Layer::ConsTres, vipu_conf::layer_of)
}
