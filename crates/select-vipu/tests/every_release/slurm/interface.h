/* The select interface of a series, in the order of Slurm's own table, as FUNCTION<number of arguments>(result, name,
 * types of the arguments). Where Slurm has a pointer to something, ptr; for an enum, int. */

#if SERIES <= 2411
FUNCTION1(int, state_save, ptr)
FUNCTION1(int, state_restore, ptr)
FUNCTION1(int, job_init, ptr)
#endif
FUNCTION0(int, node_init)
#if SERIES <= 2405
FUNCTION9(int, job_test, ptr, ptr, u32, u32, u32, u16, ptr, ptr, ptr)
#else
FUNCTION10(int, job_test, ptr, ptr, u32, u32, u32, u16, ptr, ptr, ptr, ptr)
#endif
FUNCTION1(int, job_begin, ptr)
FUNCTION1(int, job_ready, ptr)
FUNCTION2(int, job_expand, ptr, ptr)
FUNCTION2(int, job_resized, ptr, ptr)
#if SERIES >= 2605
PROCEDURE1(job_mem_reduce, ptr)
#endif
#if SERIES == 2205
FUNCTION2(int, job_signal, ptr, int)
#endif
FUNCTION1(int, job_fini, ptr)
FUNCTION2(int, job_suspend, ptr, bool)
FUNCTION2(int, job_resume, ptr, bool)
#if SERIES <= 2411
FUNCTION4(ptr, step_pick_nodes, ptr, ptr, u32, ptr)
FUNCTION1(int, step_start, ptr)
FUNCTION2(int, step_finish, ptr, bool)
FUNCTION3(int, select_nodeinfo_pack, ptr, ptr, u16)
FUNCTION3(int, select_nodeinfo_unpack, ptr, ptr, u16)
FUNCTION0(ptr, select_nodeinfo_alloc)
FUNCTION1(int, select_nodeinfo_free, ptr)
#endif
FUNCTION0(int, select_nodeinfo_set_all)
FUNCTION1(int, select_nodeinfo_set, ptr)
#if SERIES <= 2411
FUNCTION4(int, select_nodeinfo_get, ptr, int, int, ptr)
FUNCTION0(ptr, select_jobinfo_alloc)
FUNCTION1(int, select_jobinfo_free, ptr)
FUNCTION3(int, select_jobinfo_set, ptr, int, ptr)
FUNCTION3(int, select_jobinfo_get, ptr, int, ptr)
FUNCTION1(ptr, select_jobinfo_copy, ptr)
FUNCTION3(int, select_jobinfo_pack, ptr, ptr, u16)
FUNCTION3(int, select_jobinfo_unpack, ptr, ptr, u16)
#endif
#if SERIES == 2205
FUNCTION4(ptr, select_jobinfo_sprint, ptr, ptr, size_t, int)
FUNCTION2(ptr, select_jobinfo_xstrdup, ptr, int)
#endif
#if SERIES <= 2411
FUNCTION3(int, get_info_from_plugin, int, ptr, ptr)
#endif
#if SERIES == 2205
FUNCTION1(int, update_node_config, int)
#endif
FUNCTION0(int, reconfigure)
#if SERIES <= 2302
FUNCTION4(ptr, resv_test, ptr, u32, ptr, ptr)
#endif
