-- ipu
function slurm_job_submit(job)
  if string.find(job.gres, "ipu") then job.features = "multipurpose" end
end
