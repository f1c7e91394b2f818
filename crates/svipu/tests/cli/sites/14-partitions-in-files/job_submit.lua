function slurm_job_submit(job)
  if job.gres == "vipu:1" then return slurm.ERROR end
end
