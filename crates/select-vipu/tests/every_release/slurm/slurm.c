/* The parts of slurmctld, slurmstepd and libslurmfull that the plugins use, declared as in the series' headers. */
#include "fake.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Set by the test. */
uint32_t fake_version;
bool fake_agrees;
long fake_soname;
size_t fake_job_id_at; /* in a job record */
char **fake_environment; /* of a task */
void (*fake_listener)(const char *line);

void fake_tell(const char *format, ...)
{
	char line[2048];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	fake_listener(line);
}

static void must(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "fake Slurm: %s\n", what);
		abort();
	}
}

/* libslurmfull */

long slurm_api_version(void)
{
	return fake_soname << 16;
}

char *default_slurm_config_file = "/nonexistent/slurm.conf";
_Alignas(16) char slurm_conf[8192];

int get_log_level(void)
{
	return 3;
}

void slurm_log_var(const int level, const char *format, ...)
{
	char line[1900];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	fake_tell("log %d: %s", level, line);
}

/* Slurm's allocator puts a header before each allocation, and frees only memory with this header. */
struct header { size_t magic, bytes; };
#define MAGIC 0x42

void *slurm_xrecalloc(void **item, size_t count, size_t size, bool clear, bool try, const char *file, int line,
		      const char *function)
{
	struct header *old = *item ? (struct header *)*item - 1 : NULL;
	must(!old || old->magic == MAGIC, "xrecalloc of what is not Slurm's");
	size_t before = old ? old->bytes : 0;
	struct header *new = realloc(old, sizeof(*new) + count * size);
	must(new, "no memory");
	*new = (struct header) { MAGIC, count * size };
	if (clear && new->bytes > before)
		memset((char *)(new + 1) + before, 0, new->bytes - before);
	return *item = new + 1;
}

void slurm_xfree(void **item)
{
	if (!*item)
		return;
	struct header *old = (struct header *)*item - 1;
	must(old->magic == MAGIC, "xfree of what is not Slurm's");
	old->magic = 0;
	free(old);
	*item = NULL;
}

char *slurm_xstrdup(const char *text)
{
	void *copy = NULL;
	if (text)
		strcpy(slurm_xrecalloc(&copy, strlen(text) + 1, 1, true, false, "", 0, ""), text);
	return copy;
}

/* A list of the fake has Slurm's magic number, and then items up to a NULL. */
#define LIST_MAGIC ((void *)0xdeadbeef)

int slurm_list_for_each(void **list, int (*each)(void *item, void *argument), void *argument)
{
	int count = 0;
	must(*list++ == LIST_MAGIC, "list_for_each of no list");
	while (list[count])
		if (each(list[count++], argument) < 0)
			return -count;
	return count;
}

void **slurm_list_create(void (*destroy)(void *item))
{
	(void)destroy;
	void **list = calloc(16, sizeof(void *));
	*list = LIST_MAGIC;
	return list;
}

void *slurm_list_append(void **list, void *item)
{
	while (*list)
		list++;
	return *list = item;
}

int32_t slurm_bit_set_count(int64_t *bitmap)
{
	must(bitmap[0] == 0x42434445, "bit_set_count of no bitmap");
	return 1;
}

void slurm_bit_clear_all(int64_t *bitmap)
{
	must(bitmap[0] == 0x42434445, "bit_clear_all of no bitmap");
	fake_tell("no node is kept");
}

/* A bitmap of the fake has its magic number and the answer. */
int64_t slurm_bit_ffs(int64_t *bitmap)
{
	must(bitmap[0] == 0x42434445, "bit_ffs of no bitmap");
	return bitmap[1];
}

/* Two nodes, of which a bitmap has one or none. */
int64_t slurm_bit_size(int64_t *bitmap)
{
	must(bitmap[0] == 0x42434445, "bit_size of no bitmap");
	return 2;
}

int slurm_bit_test(int64_t *bitmap, int64_t bit)
{
	must(bitmap[0] == 0x42434445 && bit < 2, "bit_test of no bitmap, or behind its end");
	return bitmap[1] == bit;
}

void slurm_bit_clear(int64_t *bitmap, int64_t bit)
{
	must(bitmap[0] == 0x42434445 && bit < 2, "bit_clear of no bitmap, or behind its end");
}

void slurm_bit_set(int64_t *bitmap, int64_t bit)
{
	must(bitmap[0] == 0x42434445 && bit < 2, "bit_set of no bitmap, or behind its end");
}

size_t slurm_xsize(void *item)
{
	struct header *header = (struct header *)item - 1;
	must(header->magic == MAGIC, "xsize of what is not Slurm's");
	return header->bytes;
}

/* The association manager. Its locks must not be taken twice, because a writer may wait in between. */

char **assoc_mgr_tres_name_array;
uint32_t g_tres_count;
void *acct_db_conn;

typedef struct {
	int assoc, file, qos, res, tres, user, wckey;
} assoc_mgr_lock_t;

static bool assoc_mgr_is_locked;

void assoc_mgr_lock(assoc_mgr_lock_t *locks)
{
	must(!assoc_mgr_is_locked, "the association manager is locked twice");
	must(locks->tres == 1 && !locks->assoc && !locks->qos && !locks->user, "other locks than that of the TRES");
	assoc_mgr_is_locked = true;
}

void assoc_mgr_unlock(assoc_mgr_lock_t *locks)
{
	must(assoc_mgr_is_locked && locks->tres == 1, "the association manager is not locked");
	assoc_mgr_is_locked = false;
}

/* slurmctld */

bool fake_is_within_limits = true;

static void must_hold(void);

void set_job_tres_req_str(void *job, bool assoc_mgr_locked)
{
	must_hold();
	must(!assoc_mgr_locked && !assoc_mgr_is_locked, "set_job_tres_req_str under the lock that it takes");
	fake_tell("set_job_tres_req_str %p", job);
}

void job_set_alloc_tres(void *job, bool assoc_mgr_locked)
{
	must_hold();
	must(!assoc_mgr_locked && !assoc_mgr_is_locked, "job_set_alloc_tres under the lock that it takes");
	fake_tell("job_set_alloc_tres %p", job);
}

bool acct_policy_job_runnable_post_select(void *job, uint64_t *tres_req_cnt, bool assoc_mgr_locked)
{
	must_hold();
	must(!assoc_mgr_locked && !assoc_mgr_is_locked, "limits asked under the locks that it takes");
	(void)job;
	for (uint32_t i = 0; i < g_tres_count; i++)
		fake_tell("limits: %s=%lu", assoc_mgr_tres_name_array[i], (unsigned long)tres_req_cnt[i]);
	return fake_is_within_limits;
}

uint16_t slurm_job_preempt_mode(void *job)
{
	(void)job;
	return 2; /* PREEMPT_MODE_REQUEUE */
}

typedef struct {
	int conf, job, node, part, fed;
#if SERIES >= 2605
	int select_node;
#endif
} slurmctld_lock_t;
const size_t fake_lock_bytes = sizeof(slurmctld_lock_t);

static pthread_mutex_t locks = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

void fake_hold(void)
{
	must(!pthread_mutex_lock(&locks), "locks taken twice by one thread");
}

void fake_release(void)
{
	must(!pthread_mutex_unlock(&locks), "locks released that were not held");
}

static void must_hold(void)
{
	must(pthread_mutex_trylock(&locks), "called without slurmctld's locks");
}

static void tell_locks(const char *what, slurmctld_lock_t l)
{
#if SERIES >= 2605
	fake_tell("%s %d %d %d %d %d %d", what, l.conf, l.job, l.node, l.part, l.fed, l.select_node);
#else
	fake_tell("%s %d %d %d %d %d", what, l.conf, l.job, l.node, l.part, l.fed);
#endif
}

void lock_slurmctld(slurmctld_lock_t levels)
{
	fake_hold();
	tell_locks("lock", levels);
}

void unlock_slurmctld(slurmctld_lock_t levels)
{
	tell_locks("unlock", levels);
	fake_release();
}

void **job_list;
time_t last_job_update;
void **node_record_table_ptr;
int node_record_count;
int64_t *avail_node_bitmap;
void *default_part_loc;
void **part_list;
void **resv_list;

void *find_job_record(uint32_t job_id)
{
	must_hold();
	for (void **job = job_list ? job_list + 1 : NULL; job && *job; job++)
		if (*(uint32_t *)((char *)*job + fake_job_id_at) == job_id)
			return *job;
	return NULL;
}

uint32_t fake_next_id = 1;

uint32_t get_next_job_id(bool test_only)
{
	must_hold();
	return test_only ? fake_next_id : fake_next_id++;
}

/* The one job is the record of an array. */
void *find_job_array_rec(uint32_t array, uint32_t task)
{
	must_hold();
	fake_tell("find_job_array_rec %u %u", array, task);
	return find_job_record(array);
}

void *job_array_post_sched(void *job, bool list_add)
{
	must_hold();
	fake_tell("job_array_post_sched %p %d", job, list_add);
	return job;
}

void prolog_running_decr(void *job)
{
	must_hold();
	fake_tell("prolog_running_decr %p", job);
}

/* The jobs of the fake have one. */
int pick_batch_host(void *job)
{
	must_hold();
	return 0;
}

void *build_batch_step(void *job)
{
	must_hold();
	fake_tell("build_batch_step %p", job);
	return NULL;
}

void delete_step_record(void *job, void *step)
{
	must_hold();
	fake_tell("delete_step_record %p %p", job, step);
}

/* A slurmctld_config_t: only the time of the end is looked at. */
_Alignas(16) char slurmctld_config[1024];

void prep_epilog_slurmctld_callback(int rc, uint32_t job_id, bool timed_out)
{
	fake_hold();
	fake_tell("prep_epilog_slurmctld_callback %d %u %d", rc, job_id, timed_out);
	fake_release();
}

void kill_job_on_node(void *job, void *node)
{
	must_hold();
	fake_tell("kill_job_on_node %p %p", job, node);
}

int srun_user_message(void *job, char *message)
{
	must_hold();
	fake_tell("srun_user_message %p %s", job, message);
	return 0;
}

void schedule(bool full_queue)
{
	fake_tell("schedule %d", full_queue);
}

void schedule_job_save(void)
{
	fake_tell("schedule_job_save");
}

void free_job_resources(void **resources)
{
	must_hold();
	*resources = NULL;
}

void queue_job_scheduler(void)
{
	fake_tell("queue_job_scheduler");
}

uint16_t *fake_requeue[3]; /* details->requeue of the jobs to look at */

static void tell_requeue(void)
{
	if (fake_requeue[0])
		fake_tell("may be requeued: %u %u %u", *fake_requeue[0], *fake_requeue[1], *fake_requeue[2]);
}

#if SERIES <= 2505
int job_requeue(uint32_t uid, uint32_t job_id, void *message, bool preempt, uint32_t flags)
{
	must_hold();
	tell_requeue();
	fake_tell("job_requeue %u %u %p %d %#x", uid, job_id, message, preempt, flags);
	return fake_agrees ? 0 : 2017;
}

int job_complete(uint32_t job_id, uint32_t uid, bool requeue, bool node_fail, uint32_t return_code)
{
	must_hold();
	fake_tell("job_complete %u %u %d %d %#x", job_id, uid, requeue, node_fail, return_code);
	return 0;
}
#else
int job_requeue_internal(uint32_t uid, void *job, bool preempt, uint32_t flags)
{
	must_hold();
	tell_requeue();
	fake_tell("job_requeue_internal %u %p %d %#x", uid, job, preempt, flags);
	return fake_agrees ? 0 : 2017;
}

typedef struct {
	uint64_t sluid;
	uint32_t job_id, step_het_comp, step_id;
} slurm_step_id_t;

int job_complete(slurm_step_id_t *step_id, uint32_t uid, bool requeue, bool node_fail, uint32_t return_code)
{
	must_hold();
	fake_tell("job_complete %u %u %d %d %#x", step_id->job_id, uid, requeue, node_fail, return_code);
	return 0;
}
#endif

/* srun */

char *opt = "srun's options, which only Slurm can read";
const char *fake_gres; /* --gres */

char *slurm_option_get(void *options, const char *name)
{
	must(options == &opt, "options asked of something else");
	if (!strcmp(name, "gres"))
		return slurm_xstrdup(fake_gres);
	must(!strcmp(name, "jobid"), "an option that srun has not");
	return slurm_xstrdup("42");
}

/* slurmstepd */

int fake_context = 2; /* S_CTX_REMOTE */

int spank_context(void)
{
	return fake_context;
}

int spank_get_item(void *spank, int item, ...)
{
	va_list arguments;
	va_start(arguments, item);
	if (item == 2)
		*va_arg(arguments, uint32_t *) = 42;
	else if (item == 10)
		*va_arg(arguments, char ***) = fake_environment;
	va_end(arguments);
	return item == 2 || item == 10 ? 0 : 2;
}

int spank_setenv(void *spank, const char *name, const char *value, int overwrite)
{
	fake_tell("spank_setenv %s=%s %d", name, value, overwrite);
	return 0;
}

int spank_unsetenv(void *spank, const char *name)
{
	fake_tell("spank_unsetenv %s", name);
	return 0;
}

int spank_option_register(void *spank, void *option)
{
	return 0;
}

/* A list of one name. */

void *slurm_hostlist_create(const char *list)
{
	char **name = malloc(sizeof(*name));
	*name = strdup(list);
	return name;
}

char *slurm_hostlist_shift(void *list)
{
	char *name = *(char **) list;
	*(char **) list = NULL;
	return name;
}

void slurm_list_destroy(void *list)
{
	fake_tell("list_destroy %p", list);
}

void slurm_hostlist_destroy(void *list)
{
	must(!*(char **) list, "a list destroyed before its end");
	free(list);
}

void slurm_spank_log(const char *format, ...)
{
	char line[1900];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	fake_tell("spank log: %s", line);
}
