package kubesim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, code int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("kubesim: encode answer: %v", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(append(raw, '\n'))
}

// writeError answers with the metav1.Status of the error, as the API server does.
func writeError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	writeJSON(w, int(status.Code), status)
}

func statusOf(err error) metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = apierrors.NewInternalError(err)
	}
	status := api.Status()
	status.Kind, status.APIVersion, status.Status = "Status", "v1", metav1.StatusFailure
	return status
}

// cause is one thing that an admission webhook found.
type cause = metav1.StatusCause

func invalidCause(field, format string, args ...any) cause {
	return cause{Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// denied is the answer of an admission webhook that found something.
func denied(webhook string, causes []cause) error {
	if len(causes) == 0 {
		return nil
	}
	message := ""
	for i, c := range causes {
		if i > 0 {
			message += ", "
		}
		message += c.Message
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("admission webhook %q denied the request: %s", webhook, message),
		Details: &metav1.StatusDetails{Causes: causes},
	}}
}
