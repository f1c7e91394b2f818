# Open OnDemand sources this file before it starts script.sh. It passes host, port and password to view.html.erb.
port=$(find_port "$host")
password=$(create_passwd 32)
export port
# Not on the command line, which others on the node can see.
export JUPYTER_TOKEN="$password"
