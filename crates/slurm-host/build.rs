//! The tests play slurmctld: their functions must be found by name, as a program's exported ones are.

fn main() {
    println!("cargo::rustc-link-arg-tests=-rdynamic");
}
