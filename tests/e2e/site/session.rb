# Does with an app what Open OnDemand does: reads the form, takes the chosen values, renders the files of a session.
# Prints the options of sbatch, one in a line. Usage: session.rb APP STAGED [ATTRIBUTE=VALUE ...]
require "erb"
require "fileutils"
require "ostruct"
require "yaml"

app, staged, *chosen = ARGV

def check(what, found, allowed)
  unknown = found - allowed
  abort "#{what}: #{unknown.join(', ')}: not known to Open OnDemand" unless unknown.empty?
end

def render(file, values)
  ERB.new(File.read(file), trim_mode: "-").result(OpenStruct.new(values).instance_eval { binding })
end

manifest = YAML.safe_load(File.read("#{app}/manifest.yml"))
abort "manifest.yml: not an interactive app" unless manifest["role"] == "batch_connect"

form = YAML.safe_load(File.read("#{app}/form.yml"))
check("form.yml", form.keys, %w[cluster form attributes title description cacheable])
check("attributes", form["attributes"].keys, form["form"])
values = form["form"].to_h do |id|
  attribute = form["attributes"][id]
  # A value alone is fixed: users do not see it.
  next [id, attribute] unless attribute.is_a?(Hash)

  check(id, attribute.keys, %w[label widget help options value min max step required])
  options = attribute["options"]
  abort "#{id}: an option is not text" unless options.nil? || options.all?(String)
  [id, attribute.fetch("value", options&.first)]
end
values.merge!(chosen.to_h { |pair| pair.split("=", 2) })

submit = YAML.safe_load(render("#{app}/submit.yml.erb", values))
check("submit.yml.erb", submit.keys, %w[batch_connect script])
check("batch_connect", submit["batch_connect"].keys, %w[template conn_params script_wrapper header footer])
check("script", submit["script"].keys, %w[native queue_name wall_time accounting_id job_environment])
abort "native: an option is not text" unless submit["script"]["native"].all?(String)

FileUtils.cp_r("#{app}/template/.", staged)
puts "--chdir=#{staged}", "--partition=#{values['bc_queue']}", "--time=#{values['bc_num_hours']}:00:00", "--export=NONE"
puts submit["script"]["native"]
File.write("#{staged}/view.html", render("#{app}/view.html.erb", host: "HOST", port: "7777", password: "SECRET"))
