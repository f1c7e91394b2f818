-- What a site without slurm-vipu has: checks the request for vipu in --gres and completes it.

local MODEL, MOST = "pod64", 64

-- The request as it shall be kept, or what is wrong with it.
local function checked(element, rest)
  local model, count = rest:match("^:(%a%w*):(%d+)$")
  if not model then
    model, count = rest:match("^:(%a%w*)$"), "1"
  end
  if not model then
    model, count = MODEL, rest:match("^:(%d+)$") or (rest == "" and "1")
  end
  count = tonumber(count)
  if not count then
    return nil, "vipu: '" .. element .. "': write vipu:<model>:<count>"
  end
  if model ~= MODEL then
    return nil, "vipu: there is no model " .. model
  end
  if count < 1 or count > MOST then
    return nil, "vipu: a job on " .. MODEL .. " gets 1 to " .. MOST .. " IPUs"
  end
  local size = 1
  while size < count do
    size = 2 * size
  end
  if size ~= count then
    return nil, "vipu: " .. count .. " IPUs is not a power of two"
  end
  return "vipu:" .. model .. ":" .. count
end

local function check(description)
  local gres = description.tres_per_node
  if gres == nil or not gres:find("vipu", 1, true) then
    return slurm.SUCCESS
  end
  local elements, found = {}, false
  for element in gres:gmatch("[^,]+") do
    local prefix, rest = element:match("^(gres[:/])vipu(.*)$")
    if not prefix then
      prefix, rest = "", element:match("^vipu(.*)$")
    end
    if rest then
      if found then
        slurm.log_user("vipu: a job has one partition, ask for vipu once")
        return slurm.ERROR
      end
      found = true
      local request, wrong = checked(element, rest)
      if not request then
        slurm.log_user(wrong)
        return slurm.ERROR
      end
      element = prefix .. request
    end
    elements[#elements + 1] = element
  end
  local completed = table.concat(elements, ",")
  if completed ~= gres then
    description.tres_per_node = completed
  end
  return slurm.SUCCESS
end

function slurm_job_submit(description, partitions, user)
  return check(description)
end

function slurm_job_modify(description, job, partitions, user)
  return check(description)
end

return slurm.SUCCESS
