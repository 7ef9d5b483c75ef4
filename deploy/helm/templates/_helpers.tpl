{{- define "spanseek.name" -}}
{{- if contains "spanseek" .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-spanseek" .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "spanseek.selector" -}}
app.kubernetes.io/name: spanseek
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "spanseek.labels" -}}
{{ include "spanseek.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "spanseek.claim" -}}
{{ .Values.data.existingClaim | default (printf "%s-data" (include "spanseek.name" .)) }}
{{- end }}

{{- /* What all pods share: no token, no root, nowhere to write but /data and /tmp. */ -}}
{{- define "spanseek.pod" -}}
automountServiceAccountToken: false
# Else a service named spanseek sets SPANSEEK_PORT, which is a setting.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "spanseek.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
env:
  - name: SPANSEEK_DATABASE_URL
    valueFrom:
      secretKeyRef:
        name: {{ .Values.database.secretName }}
        key: {{ .Values.database.secretKey }}
  {{- if and (eq .Values.data.accessMode "ReadWriteMany") (not (hasKey .Values.settings "SPANSEEK_NETWORK_MOUNTS")) }}
  - name: SPANSEEK_NETWORK_MOUNTS
    value: "true"
  {{- end }}
  {{- range $name, $value := .Values.settings }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
{{- end }}

{{- define "spanseek.mounts" -}}
- { name: data, mountPath: /data }
- { name: tmp, mountPath: /tmp }
{{- end }}

{{- define "spanseek.volumes" -}}
- name: data
  persistentVolumeClaim:
    claimName: {{ include "spanseek.claim" . }}
- name: tmp
  emptyDir: {}
{{- end }}
