//! `svipu conf generate`: the files of a new site, from its controllers.

mod files;
mod pods;

use slurm_conf::HostList;
use vipu_types::ModelName;

use crate::arguments::Generate;
use crate::error::Failure;

/// Asks the controllers, and prints or writes the files. A model with a name has a file of its own.
pub(crate) fn generate(options: &Generate, model: Option<&str>) -> Result<String, Failure> {
    HostList::parse(&options.nodes).map_err(|why| Failure::Conf(format!("--nodes: {why}")))?;
    let own = model.map(ModelName::new).transpose().map_err(|why| Failure::Conf(why.to_string()))?;
    let keys = keys(options)?;
    let pods = pods::ask(&keys)?;
    let name = own.as_ref().map_or_else(|| format!("pod{}", pods.largest), ToString::to_string);
    let files = files::Files::new(options, own.as_ref(), &name, &keys, &pods);
    match &options.output {
        Some(folder) => files.write(folder),
        None => Ok(files.text()),
    }
}

/// The lines of the model's file that the options give.
fn keys(options: &Generate) -> Result<String, Failure> {
    let hosts = options.hosts.join(",");
    let given = [
        ("ApiHost", Some(&hosts)),
        ("IpuofDir", Some(&options.ipuof_dir)),
        ("ApiTlsCa", options.tls_ca.as_ref()),
        ("ApiAccessFile", options.access_file.as_ref()),
    ];
    plain("--nodes", &options.nodes)?;
    let mut lines = String::new();
    for (key, value) in given.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        plain(key, value)?;
        lines += &format!("{key}={value}\n");
    }
    Ok(lines)
}

/// Refuses a value that is not the same in all files. plugstack.conf, for example, has no quotes.
fn plain(key: &str, value: &str) -> Result<(), Failure> {
    let is_special = |c: char| c.is_whitespace() || c.is_control() || "\"#\\".contains(c);
    if value.is_empty() || value.contains(is_special) {
        let why = format!("{key}: '{value}' is empty, or has a blank, a quote, a backslash or #");
        return Err(Failure::Conf(why));
    }
    Ok(())
}
