# What is different in Kubernetes from deploy/nginx.conf. `front.yaml` applies it, and sets BASE_URL.

# The Service is the only server. It is named twice because nginx tries each server once: so there is a second try, and
# most of the time the Service sends it to another pod.
s/^# The instances of this machine.*/# The Service `web`, twice: a second try mostly reaches another pod./
s/server 127\.0\.0\.1:800[12] /server web:8000 /

# A process without rights cannot listen below 1024. The Service `front` has the usual ports.
s/listen 443 ssl http2;.*/listen 8443 ssl http2;/
s/listen 80;/listen 8080;/
s/server_name wallet\.example;/server_name _;/

# The files of the ConfigMap `front`, which an overlay may replace.
s|^upstream presentation {|include /etc/nginx/front/proxies.conf;\n&|

s|/var/log/nginx/wallet\.log|/dev/stdout|
s|/var/log/nginx/wallet-error\.log|/dev/stderr|

# Where nginx sees the address of a node or of a balancer, an allow-list with private networks would let everybody in.
/location \/admin\/ {/,/deny all;/{
  /^ *allow /d
  s|deny all;|include /etc/nginx/front/operators.conf;\n        deny all;|
}
