//! Which stock selector to use.

use conf::Layer;
use slurm_host::stock_selector;

/// What slurm.conf and vipu.conf say.
pub(crate) fn choose() -> Layer {
    stock_selector::layer(Layer::ConsTres, conf::layer_of)
}
