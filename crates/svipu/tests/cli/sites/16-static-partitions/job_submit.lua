-- vipu
function slurm_job_submit(job)
  job.gres = "vipu:16:1"
end
