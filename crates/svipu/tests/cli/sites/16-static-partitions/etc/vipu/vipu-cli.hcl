api-host="10.1.3.101"
api-port="8091"
api-access-key="secret-key"
