/*
 * A SPANK plugin that a user loads into his own sbatch and srun. Each of its arguments, NAME=value, becomes a
 * variable for Prolog and Epilog. It is declared without Slurm's headers, so that one object serves every release.
 */
int atoi(const char *text);
char *getenv(const char *name);
char *strchr(const char *text, int character);
int spank_job_control_setenv(void *spank, const char *name, const char *value, int overwrite);

const char plugin_name[] = "forger";
const char plugin_type[] = "spank";
unsigned int plugin_version;

__attribute__((constructor)) static void fit_this_slurm(void)
{
	const char *number = getenv("SLURM_VERSION_NUMBER");

	plugin_version = number ? atoi(number) : 0;
}

int slurm_spank_init_post_opt(void *spank, int argc, char **argv)
{
	int failures = 0;

	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		*value++ = '\0';
		failures |= spank_job_control_setenv(spank, argv[i], value, 1);
	}
	return failures;
}
