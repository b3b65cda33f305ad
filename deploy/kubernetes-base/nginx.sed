# What deploy/nginx.conf.template becomes in Kubernetes. `front.yaml` applies it, and fills in BASE_URL.

# The Service is the only server. It is named twice because nginx tries each server once: so there is a second try, and
# most of the time the Service sends it to another pod.
s/^# The instances of this machine.*/# The Service `web`, twice: a second try mostly reaches another pod./
s/{{FIRST_INSTANCE}}/web:8000/
s/{{SECOND_INSTANCE}}/web:8000/

# A process without rights cannot listen below 1024. The Service `front` has the usual ports.
s/listen {{PORT}} ssl http2;.*/listen 8443 ssl http2;/
s/listen \[::\]:{{PORT}} ssl http2;.*/listen [::]:8443 ssl http2;/
s/listen 80;/listen 8080;/
s/listen \[::\]:80;/listen [::]:8080;/
s/{{HOST}}/_/

# The files of the ConfigMap `front`, which an overlay may replace. Where nginx sees the address of a node or of a balancer,
# an allow-list with private networks would let everybody in.
s|^upstream presentation {|include /etc/nginx/front/proxies.conf;\n&|
s|^{{OPERATORS}}|        include /etc/nginx/front/operators.conf;|

s|/var/log/nginx/wallet\.log|/dev/stdout|
s|/var/log/nginx/wallet-error\.log|/dev/stderr|
