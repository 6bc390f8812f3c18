{{/* A queue's name as Kubernetes allows it: panelist_1 is panelist-1. */}}
{{- define "parley.dns" -}}
{{- . | lower | replace "_" "-" | replace "." "-" | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- define "parley.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "parley.labels" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* What selects the pods of one component: (root, component, name). */}}
{{- define "parley.selector" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- with .name }}
parley/queue: {{ include "parley.dns" . }}
{{- end }}
{{- end }}

{{/* What every pod has. */}}
{{- define "parley.pod" -}}
automountServiceAccountToken: false
terminationGracePeriodSeconds: {{ .Values.graceSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.podSecurity.runAsUser }}
  runAsGroup: {{ .Values.podSecurity.runAsUser }}
  fsGroup: {{ .Values.podSecurity.runAsUser }}
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Copies of one component on different nodes, where there are several: (root, component, name). */}}
{{- define "parley.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "parley.selector" . | nindent 8 }}
{{- end }}

{{/* Addresses that a policy lets pods reach: a list of (cidr, except, ports). */}}
{{- define "parley.ranges" -}}
{{- range . }}
- to:
    - ipBlock:
        cidr: {{ .cidr }}
        {{- with .except }}
        except: {{- toYaml . | nindent 10 }}
        {{- end }}
  ports:
    {{- range .ports }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
{{- end }}
{{- end }}

{{/* What every container has. */}}
{{- define "parley.container" -}}
image: {{ include "parley.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
ports:
  - name: metrics
    containerPort: 9464
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 5
  timeoutSeconds: 3
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 2
  failureThreshold: 60
{{- end }}

{{/* The variables of tracing; the name of the service is the component's. */}}
{{- define "parley.tracing" -}}
{{- with .Values.tracing.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- end }}

{{/* Variables from a map. */}}
{{- define "parley.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
